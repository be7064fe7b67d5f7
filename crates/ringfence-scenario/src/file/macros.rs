//! Declarations from which type, reader and schema are made.

/// Declares a table of the file: a struct, one field a key.
///
/// `Located<T>` is a required key, `Option<Located<T>>` an optional one,
/// `List<T>` a list that may be absent.
macro_rules! file_table {
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            $( $(#[$field_meta:meta])* pub $field:ident: $type:ty, )*
        }
    ) => {
        #[derive(Debug, Clone, schemars::JsonSchema)]
        #[schemars(deny_unknown_fields)]
        $(#[$meta])*
        pub struct $name {
            $( $(#[$field_meta])* pub $field: $type, )*
        }

        impl $name {
            /// The keys of the table.
            pub(crate) const KEYS: &'static [&'static str] = &[$( stringify!($field) ),*];

            /// Reads the table; `extra_keys` are known to the caller.
            pub(crate) fn decode_table(
                table: &toml::de::DeTable<'_>,
                span: $crate::diagnostic::Span,
                extra_keys: &[&str],
                problems: &mut $crate::diagnostic::Problems,
            ) -> Option<Self> {
                let keys = [extra_keys, Self::KEYS].concat();
                let mut reader = $crate::file::TableReader::new(table, span, &keys, problems);
                $( let $field = $crate::file::Field::take(&mut reader, stringify!($field)); )*
                reader.refuse_unknown();
                Some(Self { $( $field: $field? ),* })
            }
        }

        impl $crate::file::Decode for $name {
            fn expected() -> String {
                format!("a table with the keys {}", $crate::file::quoted(Self::KEYS, "and"))
            }

            fn decode(
                value: &toml::de::DeValue<'_>,
                span: $crate::diagnostic::Span,
                problems: &mut $crate::diagnostic::Problems,
            ) -> Option<Self> {
                match value {
                    toml::de::DeValue::Table(table) => {
                        Self::decode_table(table, span, &[], problems)
                    }
                    other => {
                        problems.report(span, $crate::file::describe(other), Self::expected());
                        None
                    }
                }
            }
        }
    };
}

/// Declares a choice between fixed words, each naming a value of the model.
macro_rules! file_word {
    (
        $(#[$meta:meta])*
        pub enum $name:ident -> $model:ty {
            $( $(#[$variant_meta:meta])* $variant:ident = $word:literal => $value:expr, )*
        }
    ) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq, schemars::JsonSchema)]
        $(#[$meta])*
        pub enum $name {
            $( $(#[$variant_meta])* #[schemars(rename = $word)] $variant, )*
        }

        impl From<$name> for $model {
            fn from(word: $name) -> Self {
                match word { $( $name::$variant => $value, )* }
            }
        }

        impl $crate::file::Decode for $name {
            fn expected() -> String {
                $crate::file::quoted_list(&[$( concat!("\"", $word, "\"") ),*])
            }

            fn decode(
                value: &toml::de::DeValue<'_>,
                span: $crate::diagnostic::Span,
                problems: &mut $crate::diagnostic::Problems,
            ) -> Option<Self> {
                match value.as_str() {
                    $( Some($word) => Some(Self::$variant), )*
                    _ => {
                        $crate::file::value::report_word(
                            value, span, &[$( $word ),*], Self::expected(), problems,
                        );
                        None
                    }
                }
            }
        }
    };
}

pub(crate) use {file_table, file_word};
