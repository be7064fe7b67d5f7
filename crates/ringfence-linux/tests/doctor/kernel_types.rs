//! Type information as a kernel has it (Documentation/bpf/btf.rst), of functions alone.

/// BTF with functions of these names, whose parameters have these names.
pub fn btf(functions: &[(&str, &[&str])]) -> Vec<u8> {
    let mut strings = vec![0_u8];
    let mut name = |text: &str| {
        let at = strings.len() as u32;
        strings.extend_from_slice(text.as_bytes());
        strings.push(0);
        at
    };
    let mut types = Vec::new();
    let mut put = |words: &[u32]| types.extend(words.iter().flat_map(|word| word.to_ne_bytes()));
    // Type 1: int, of four bytes and 32 bits.
    put(&[name("int"), 1 << 24, 4, 32]);
    for (index, (function, parameters)) in functions.iter().enumerate() {
        let prototype = 2 + 2 * index as u32;
        put(&[0, 13 << 24 | parameters.len() as u32, 1]);
        for parameter in *parameters {
            put(&[name(parameter), 1]);
        }
        // Linkage 1: global.
        put(&[name(function), 12 << 24 | 1, prototype]);
    }
    let mut all = vec![];
    all.extend(0xeb9f_u16.to_ne_bytes());
    all.extend([1, 0]);
    let (types_length, strings_length) = (types.len() as u32, strings.len() as u32);
    for word in [24, 0, types_length, types_length, strings_length] {
        all.extend(word.to_ne_bytes());
    }
    all.extend(types);
    all.extend(strings);
    all
}
