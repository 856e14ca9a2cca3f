//! Values that are written as words.

macro_rules! words {
    ($($(#[$meta:meta])* $Name:ident { $($(#[$vmeta:meta])* $Variant:ident = $text:literal),+ $(,)? })+) => {
        $($(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        pub enum $Name { $($(#[$vmeta])* #[serde(rename = $text)] $Variant),+ }

        impl $Name {
            /// The word in files.
            pub fn name(self) -> &'static str {
                match self { $($Name::$Variant => $text),+ }
            }
        })+
    };
}
