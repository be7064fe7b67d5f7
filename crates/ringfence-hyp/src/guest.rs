//! What is loaded for a VM: the images of its guest, and where they go.

use std::fs;
use std::path::{Path, PathBuf};

use ringfence_scenario::vm::{Guest, Image, Ram, Vm};

use crate::board::Gic;
use crate::device_tree::{self, LinuxGuest};
use crate::{HypError, sources};

/// Offset of the size of a Linux image in it, and of its magic (Linux,
/// Documentation/arch/arm64/booting.rst).
const LINUX_IMAGE_SIZE_AT: usize = 16;
const LINUX_MAGIC_AT: usize = 56;
const LINUX_MAGIC: &[u8] = b"ARM\x64";

/// Bytes that a VM finds in its RAM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Piece {
    /// From the start of the RAM, in bytes.
    pub(crate) offset: u64,
    pub(crate) contents: Contents,
}

/// Where bytes come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Contents {
    /// A guest that is built with the hypervisor, by name.
    BuiltIn(String),
    File(PathBuf),
    Bytes(Vec<u8>),
}

/// A VM's guest, ready to be put into memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Loaded {
    /// Guest address of the first instruction.
    pub(crate) entry: u64,
    /// In the first registers there.
    pub(crate) arguments: Vec<u64>,
    pub(crate) pieces: Vec<Piece>,
}

/// Reads what `vm` boots on a board with that interrupt controller.
///
/// # Errors
/// It has no guest or no RAM, a file cannot be read or is not what it should be, or it does not fit.
pub(crate) fn load(vm: &Vm, gic: Gic) -> Result<Loaded, HypError> {
    let missing = |what: &str| {
        HypError::Failed(format!(
            "the VM `{}` has no {what}, which the hypervisor needs",
            vm.name
        ))
    };
    let ram = vm.memory.ok_or_else(|| missing("memory"))?;
    match vm.guest.as_ref().ok_or_else(|| missing("guest"))? {
        Guest::BareMetal {
            image,
            entry,
            arguments,
        } => {
            let contents = match image {
                Image::BuiltIn(name) => built_in(vm, name)?,
                Image::File(path) => {
                    check_fits(vm, path, size_of(path)?, ram.size_bytes)?;
                    Contents::File(path.clone())
                }
            };
            Ok(Loaded {
                entry: *entry,
                arguments: arguments.clone(),
                pieces: vec![Piece {
                    offset: 0,
                    contents,
                }],
            })
        }
        Guest::Linux {
            kernel,
            initrd,
            command_line,
        } => linux(vm, gic, ram, kernel, initrd.as_deref(), command_line),
    }
}

/// Names of the guests that are built with the hypervisor.
pub(crate) fn built_in_names() -> Vec<&'static str> {
    let is_guest = |name: &&str| sources::text(&format!("hyp/guests/{name}/main.c")).is_some();
    sources::folders("hyp/guests")
        .into_iter()
        .filter(is_guest)
        .collect()
}

fn built_in(vm: &Vm, name: &str) -> Result<Contents, HypError> {
    let known = built_in_names();
    if known.contains(&name) {
        return Ok(Contents::BuiltIn(name.to_owned()));
    }
    Err(HypError::Failed(format!(
        "the image `{name}` of the VM `{}` is not one that comes with the hypervisor: {}; a file has a `.` or `/` in its name",
        vm.name,
        known.join(", ")
    )))
}

fn linux(
    vm: &Vm,
    gic: Gic,
    ram: Ram,
    kernel: &Path,
    initrd: Option<&Path>,
    command_line: &str,
) -> Result<Loaded, HypError> {
    let kernel_bytes = linux_size(kernel)?;
    let after = |offset: u64| offset.next_multiple_of(Ram::ALIGNMENT);
    let initrd_offset = after(kernel_bytes);
    let initrd_bytes = initrd.map_or(Ok(0), size_of)?;
    let tree_offset = after(initrd_offset + initrd_bytes);
    // Whichever of them is too much: without an initrd it is the kernel.
    let largest = initrd
        .filter(|_| initrd_bytes > initrd_offset)
        .unwrap_or(kernel);
    check_fits(vm, largest, tree_offset + Ram::ALIGNMENT, ram.size_bytes)?;
    let tree = device_tree::linux_guest(&LinuxGuest {
        gic,
        vcpus: vm.cores.len() as u32,
        memory: ram.guest_address,
        memory_bytes: ram.size_bytes,
        initrd: initrd.map(|_| {
            let start = ram.guest_address + initrd_offset;
            start..start + initrd_bytes
        }),
        command_line,
        devices: &vm.devices,
    })
    .map_err(|error| HypError::Failed(format!("the device tree of `{}`: {error}", vm.name)))?;
    let piece = |offset, contents| Piece { offset, contents };
    let initrd = initrd.map(|path| piece(initrd_offset, Contents::File(path.to_owned())));
    let mut pieces = vec![piece(0, Contents::File(kernel.to_owned()))];
    pieces.extend(initrd);
    pieces.push(piece(tree_offset, Contents::Bytes(tree)));
    Ok(Loaded {
        entry: ram.guest_address,
        arguments: vec![ram.guest_address + tree_offset],
        pieces,
    })
}

/// Bytes that a kernel needs in memory, from its header.
fn linux_size(kernel: &Path) -> Result<u64, HypError> {
    let image = fs::read(kernel).map_err(|error| HypError::file(kernel, error))?;
    let header = image.get(..LINUX_MAGIC_AT + LINUX_MAGIC.len());
    let header = header.filter(|header| header[LINUX_MAGIC_AT..] == *LINUX_MAGIC);
    let Some(header) = header else {
        return Err(HypError::file(
            kernel,
            "found no arm64 Linux kernel, expected an uncompressed `Image`",
        ));
    };
    let size = header[LINUX_IMAGE_SIZE_AT..][..8].iter().rev();
    let size = size.fold(0, |size, &byte| size << 8 | u64::from(byte));
    Ok(size.max(image.len() as u64).min(Ram::GUEST_END))
}

fn size_of(path: &Path) -> Result<u64, HypError> {
    let metadata = fs::metadata(path).map_err(|error| HypError::file(path, error))?;
    match metadata.is_file() {
        true => Ok(metadata.len()),
        false => Err(HypError::file(path, "found no file, expected an image")),
    }
}

fn check_fits(vm: &Vm, path: &Path, needed: u64, bytes: u64) -> Result<(), HypError> {
    if needed <= bytes {
        return Ok(());
    }
    Err(HypError::file(
        path,
        format!(
            "{needed} bytes are needed with all that the VM `{}` boots, but it has {bytes}; give it \
             more memory",
            vm.name
        ),
    ))
}
