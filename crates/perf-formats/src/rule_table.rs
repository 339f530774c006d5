//! `rule_table!`: macro that declares the rules of a reader, which its diagnostics count, as
//! constants.

/// Declares rules, each as `CONSTANT: Weight = "name", "defect and its treatment";`.
///
/// The documentation of a constant states its name and its description.
macro_rules! rule_table {
    ($($(#[$doc:meta])* $rule:ident: $weight:ident = $name:literal, $what:literal;)*) => {$(
        $(#[$doc])*
        #[doc = ""]
        #[doc = concat!("Rule `", $name, "`: ", $what, ".")]
        pub const $rule: perf_core::Rule = perf_core::Rule {
            name: $name,
            what: $what,
            weight: perf_core::Weight::$weight,
        };
    )*};
}

pub(crate) use rule_table;
