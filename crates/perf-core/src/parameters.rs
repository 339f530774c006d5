//! [`parameters!`](crate::parameters): a struct of parameters with their defaults and setters, from one declaration.

/// Declares a struct of parameters: each field with its default value and its setter.
///
/// An entry `name: Type = default` declares a field, its value in [`Default`], and a setter: a
/// method `name` that takes the value and returns the parameters. The documentation of the entry is
/// that of the setter. A setter with other arguments has a closure that computes the value:
/// `=> |argument: Type| value`. Fields without a setter are in a second block, after `and`.
///
/// If values can be invalid, the struct also has a method `check`, which is written by hand. It
/// returns a checked form of the parameters, and the computation accepts only the checked form.
///
/// ```
/// perf_core::parameters! {
///     /// Parameters of a search for outliers.
///     #[derive(Clone, Debug, PartialEq)]
///     pub struct OutlierParams {
///         /// Sets the factor of the interquartile range; default 1.5.
///         factor: f64 = 1.5,
///         /// Sets the name of the only function to search. Default: all functions.
///         function: Option<String> = None => |name: impl Into<String>| Some(name.into()),
///     } and {
///         /// Ranks to search.
///         ranks: Vec<u32> = Vec::new(),
///     }
/// }
///
/// impl OutlierParams {
///     /// Adds a rank to search.
///     pub fn rank(mut self, rank: u32) -> Self {
///         self.ranks.push(rank);
///         self
///     }
/// }
///
/// let params = OutlierParams::default().factor(3.0).function("solve").rank(7);
/// assert_eq!((params.factor, params.function.as_deref()), (3.0, Some("solve")));
/// assert_eq!((OutlierParams::default().factor, params.ranks), (1.5, vec![7]));
/// ```
#[macro_export]
macro_rules! parameters {
    (
        $(#[$attribute:meta])*
        $visibility:vis struct $name:ident {$(
            $(#[$doc:meta])*
            $field_visibility:vis $field:ident: $type:ty = $default:expr
            $(=> |$($argument:ident: $argument_type:ty),+| $value:expr)?
        ),* $(,)?}
        $(and {$(
            $(#[$own_doc:meta])*
            $own_visibility:vis $own:ident: $own_type:ty = $own_default:expr
        ),* $(,)?})?
    ) => {
        $(#[$attribute])*
        $visibility struct $name {
            $($(#[$doc])* $field_visibility $field: $type,)*
            $($($(#[$own_doc])* $own_visibility $own: $own_type,)*)?
        }

        impl ::std::default::Default for $name {
            fn default() -> Self {
                $name {
                    $($field: $default,)*
                    $($($own: $own_default,)*)?
                }
            }
        }

        impl $name {
            $($crate::parameters! {
                @setter [$(#[$doc])*] $field: $type $(=> |$($argument: $argument_type),+| $value)?
            })*
        }
    };
    (@setter [$(#[$doc:meta])*] $field:ident: $type:ty) => {
        $(#[$doc])*
        pub fn $field(mut self, $field: $type) -> Self {
            self.$field = $field;
            self
        }
    };
    (
        @setter [$(#[$doc:meta])*] $field:ident: $type:ty
        => |$($argument:ident: $argument_type:ty),+| $value:expr
    ) => {
        $(#[$doc])*
        pub fn $field(mut self, $($argument: $argument_type),+) -> Self {
            self.$field = $value;
            self
        }
    };
}
