//! SUSAN corners of a photograph.

use std::path::Path;

use super::{Part, ProgramError, Setting};
use ringfence_victims::pgm;
use ringfence_victims::susan::CornerDetector;

struct Corners {
    detector: CornerDetector,
    /// Cache lines of the image: what a job reads, each many times from the first-level cache.
    lines: u64,
}

pub(super) fn prepare(
    path: &Path,
    threshold: u8,
    setting: &Setting,
) -> Result<Vec<Box<dyn Part>>, ProgramError> {
    let error = |reason: String| ProgramError::Image {
        path: path.display().to_string(),
        reason,
    };
    let bytes = std::fs::read(path).map_err(|reason| error(reason.to_string()))?;
    let image = pgm::parse(&bytes).map_err(|reason| error(reason.to_string()))?;
    if threshold == 0 {
        return Err(ProgramError::Range {
            what: "a threshold",
            found: 0,
            expected: "1 to 255 steps of brightness",
        });
    }
    let threads = (0..setting.threads).map(|_| {
        let detector = CornerDetector::new(&image, threshold);
        Ok(Box::new(Corners {
            detector: detector.map_err(|reason| error(reason.to_string()))?,
            lines: (image.pixels.len() as u64).div_ceil(setting.line_bytes),
        }) as Box<dyn Part>)
    });
    threads.collect()
}

impl Part for Corners {
    fn job(&mut self, _job: u64) {
        self.detector.detect();
    }

    fn step(&mut self) -> u64 {
        self.detector.detect();
        self.lines
    }
}
