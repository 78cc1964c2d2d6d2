//! One declaration behind every list of methods that are chosen from at run time.

/// Declares a list of methods once. From it follow the enum of their settings, the enum of methods at work, how settings
/// begin a method, and [`Method`](crate::Method) handed on to the method that was chosen. New methods go to the end of a
/// list: checkpoints hold their number.
macro_rules! choice {
    (
        $(#[$settings_doc:meta])* settings $settings:ident;
        $(#[$work_doc:meta])* at_work $work:ident;
        begin($($argument:ident: $type:ty),*) with $given:ident by $new:ident $arguments:tt;
        $($(#[$doc:meta])* $name:ident: $one:ty, $method:ty $(, $default:ident)?;)+
    ) => {
        $(#[$settings_doc])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
        pub enum $settings {
            $($(#[$doc])* $name($one),)+
        }

        $(#[$work_doc])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
        pub enum $work {
            $($(#[$doc])* $name(Box<$method>),)+
        }

        impl $settings {
            /// One of each kind that has default settings.
            pub fn each() -> Vec<Self> {
                vec![$($(Self::$name(<$one>::$default()),)?)+]
            }

            pub(crate) fn begin(&self, $($argument: $type),*) -> $work {
                match self.clone() {
                    $(Self::$name($given) => $work::$name(Box::new(<$method>::$new $arguments)),)+
                }
            }
        }

        impl $work {
            fn as_method(&self) -> &dyn $crate::Method {
                match self {
                    $(Self::$name(method) => &**method,)+
                }
            }

            fn as_method_mut(&mut self) -> &mut dyn $crate::Method {
                match self {
                    $(Self::$name(method) => &mut **method,)+
                }
            }
        }

        impl $crate::Method for $work {
            fn propose(&mut self) -> Vec<$crate::Proposal> {
                self.as_method_mut().propose()
            }

            fn learn(&mut self, answered: Vec<$crate::Answered>) {
                self.as_method_mut().learn(answered);
            }

            fn best(&self) -> Option<&$crate::Best> {
                self.as_method().best()
            }

            fn status(&self) -> &$crate::Status {
                self.as_method().status()
            }
        }
    };
}

pub(crate) use choice;
