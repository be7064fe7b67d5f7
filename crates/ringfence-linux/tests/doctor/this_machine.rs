//! The machine that runs the tests, whatever it is.

use ringfence_linux::class::Class;
use ringfence_linux::doctor::check::Level;
use ringfence_linux::doctor::examine;
use ringfence_linux::doctor::machine_files::MachineFiles;
use ringfence_linux::doctor::probe::Probed;
use ringfence_linux::sys;

use crate::check;

#[test]
fn trying_leaves_nothing_behind() {
    let before = (sys::affinity(0).unwrap(), Class::of(0).unwrap());
    let probed = Probed::this_machine();
    assert_eq!((sys::affinity(0).unwrap(), Class::of(0).unwrap()), before);
    assert_eq!(probed.classes.len(), 3);
    assert!(probed.resolution_ns.is_some());
    for event in &probed.events {
        let was_tried = !event.tried_on.is_empty();
        assert_eq!(was_tried, event.refusal.is_none(), "{event:?}");
    }
    let found = examine(&MachineFiles::below("/"), probed);
    let kernel = check(&found, "kernel");
    assert_ne!(kernel.state, Level::Unusable, "{kernel:?}");
}
