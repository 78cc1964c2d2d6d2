//! The macro that declares the model's arrays together with the table of quantities, and the words its rows are written in.

use super::{Attribute, ElementKind, Exchange, Over, Purpose, Range, Role, Row};

/// Declares a struct of arrays for each family, the [`Model`](crate::Model) that holds those under `model`, and for every
/// field its [`Quantity`](super::Quantity) and its [`Row`].
macro_rules! quantities {
    (
        model { $(
            $(#[doc = $about:literal])*
            $family:ident: $Family:ident = $numbers:ident { $(
                $(#[doc = $doc:literal])*
                $field:ident: [$element:ty; $count:ident] = $id:ident($unit:literal) $(.$word:ident($($value:expr),*))*;
            )* }
        )* }
        sources {
            $(#[doc = $source_about:literal])*
            $sources:ident: $Sources:ident = $source_numbers:ident { $(
                $(#[doc = $source_doc:literal])*
                $source:ident: [$source_element:ty; $source_count:ident] = $source_id:ident($source_unit:literal)
                    $(.$source_word:ident($($source_value:expr),*))*;
            )* }
        }
    ) => {
        $( $crate::arrays::arrays! {
            $(#[doc = $about])*
            pub struct $numbers { $(
                $(#[doc = $doc])*
                #[doc = concat!("\nUnit: ", $unit, ".")]
                $field: [$element; $count],
            )* }
        } )*
        $crate::arrays::arrays! {
            $(#[doc = $source_about])*
            pub struct $source_numbers { $(
                $(#[doc = $source_doc])*
                #[doc = concat!("\nUnit: ", $source_unit, ".")]
                $source: [$source_element; $source_count],
            )* }
        }

        /// A compiled model over the scalar `T`.
        #[derive(Clone, Debug, PartialEq)]
        pub struct Model<T: $crate::scalar::Scalar = f64> {
            /// Everything discrete; shared between copies.
            pub structure: std::sync::Arc<super::Structure>,
            /// How to simulate.
            pub settings: super::Settings,
            /// Contacts that act from a distance, if any do; see [`Self::with_contacts_from_distance`].
            pub(crate) from_distance: Option<std::sync::Arc<super::ContactsFromDistance>>,
            /// Pairs of geoms whose contacts come from maps, if there are any; see [`Self::with_contact_map`].
            pub(crate) mapped_pairs: Option<std::sync::Arc<[$crate::stages::collision::MappedPair]>>,
            /// The map of collisions, if there is one.
            pub strike: Option<std::sync::Arc<super::StrikeMap>>,
            /// How the derived numbers follow from the given ones; none in models that were not compiled.
            pub(crate) recipe: Option<std::sync::Arc<super::Recipe>>,
            $( $(#[doc = $about])* pub $family: $numbers<T>, )*
        }

        /// Families of numbers: the fields of a [`Model`], and the given numbers that are in no model.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Family {
            $( $(#[doc = $about])* $Family, )*
            $(#[doc = $source_about])*
            $Sources,
        }

        impl Family {
            /// The name of the field.
            pub fn name(self) -> &'static str {
                match self {
                    $( Self::$Family => stringify!($family), )*
                    Self::$Sources => stringify!($sources),
                }
            }
        }

        /// A field of numbers of a model, or of given numbers that are in no model; see [`quantity`](crate::quantity).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Quantity {
            $( $( $(#[doc = $doc])* $id, )* )*
            $( $(#[doc = $source_doc])* $source_id, )*
        }

        impl Quantity {
            /// All, in the order in which the given numbers are visited.
            pub const ALL: &'static [Self] = &[$( $( Self::$id, )* )* $( Self::$source_id, )*];

            /// What is known of each.
            #[allow(clippy::large_stack_arrays, reason = "evaluated by the compiler, kept in static memory")]
            pub(crate) const TABLE: &'static [$crate::quantity::Row] = {
                // The width of an element is the same for all scalars.
                type T = f64;
                &[
                    $( $( $crate::quantity::Row::new(
                        Family::$Family,
                        [
                            stringify!($field),
                            concat!(stringify!($family), ".", stringify!($field)),
                            concat!($($doc),*),
                            $unit,
                        ],
                        (<$element as $crate::math::Components<T>>::LEN, stringify!($count)),
                    )$(.$word($($value),*))*, )* )*
                    $( $crate::quantity::Row::new(
                        Family::$Sources,
                        [
                            stringify!($source),
                            concat!(stringify!($sources), ".", stringify!($source)),
                            concat!($($source_doc),*),
                            $source_unit,
                        ],
                        (<$source_element as $crate::math::Components<T>>::LEN, stringify!($source_count)),
                    )$(.$source_word($($source_value),*))*, )*
                ]
            };

            /// How many elements a model has.
            pub fn elements(self, counts: &super::Counts) -> usize {
                match self {
                    $( $( Self::$id => counts.$count, )* )*
                    $( Self::$source_id => counts.$source_count, )*
                }
            }
        }

        impl<T: $crate::scalar::Scalar> Model<T> {
            /// A model of the given structure with every number zero: the start of a compilation or of a cotangent.
            pub fn zeros(structure: std::sync::Arc<super::Structure>, settings: super::Settings) -> Self {
                Self {
                    $( $family: $numbers::zeros(&structure.counts), )*
                    settings,
                    structure,
                    from_distance: None,
                    mapped_pairs: None,
                    strike: None,
                    recipe: None,
                }
            }

            /// The same model over another scalar, e.g. dual numbers.
            pub fn map<U: $crate::scalar::Scalar>(&self, mut convert: impl FnMut(T) -> U) -> Model<U> {
                self.converted(&mut convert)
            }

            /// [`Self::map`], compiled once for each pair of scalars.
            fn converted<U: $crate::scalar::Scalar>(&self, convert: &mut dyn FnMut(T) -> U) -> Model<U> {
                Model {
                    structure: std::sync::Arc::clone(&self.structure),
                    settings: self.settings,
                    from_distance: self.from_distance.clone(),
                    mapped_pairs: self.mapped_pairs.clone(),
                    strike: self.strike.clone(),
                    recipe: self.recipe.clone(),
                    $( $family: self.$family.map(&mut *convert), )*
                }
            }

            /// Calls `visit(quantity, element, numbers)` for every element of the model's arrays. Compiled once for each
            /// scalar; what goes through all numbers is a small loop around it.
            fn elements(&self, visit: &mut dyn FnMut(Quantity, usize, &[T])) {
                $( $( $crate::arrays::elements((Quantity::$id, &self.$family.$field[..]), visit); )* )*
            }

            /// As [`Self::elements`], to change.
            fn elements_mut(&mut self, visit: &mut dyn FnMut(Quantity, usize, &mut [T])) {
                $( $( $crate::arrays::elements_mut((Quantity::$id, &mut self.$family.$field[..]), visit); )* )*
            }

            /// Calls `visit(quantity, element, component, number)` for every number of the model.
            pub fn for_each(&self, mut visit: impl FnMut(Quantity, usize, usize, T)) {
                self.elements(&mut |quantity, element, numbers| {
                    for (component, &number) in numbers.iter().enumerate() {
                        visit(quantity, element, component, number);
                    }
                });
            }

            /// As [`Self::for_each`], with the number by mutable reference.
            pub fn for_each_mut(&mut self, mut visit: impl FnMut(Quantity, usize, usize, &mut T)) {
                self.elements_mut(&mut |quantity, element, numbers| {
                    for (component, number) in numbers.iter_mut().enumerate() {
                        visit(quantity, element, component, number);
                    }
                });
            }

            /// Sets every number to zero.
            pub(crate) fn set_zero(&mut self) {
                $( self.$family.set_zero(); )*
            }

            /// All numbers in a row, in the order of [`Self::for_each`].
            pub fn flat(&self) -> Vec<T> {
                let mut flat = Vec::new();
                self.elements(&mut |_, _, numbers| flat.extend_from_slice(numbers));
                flat
            }

            /// Adds every number of another model of the same structure.
            pub(crate) fn add_numbers(&mut self, other: &Self) {
                $( $( $crate::arrays::add(&mut self.$family.$field, &other.$family.$field); )* )*
            }

            /// The numbers of a quantity, row-major; none for those that are in no model.
            pub fn numbers(&self, quantity: Quantity) -> Vec<T> {
                let mut all = Vec::new();
                let mut push = |(), _: usize, numbers: &[T]| all.extend_from_slice(numbers);
                match quantity {
                    $( $( Quantity::$id => $crate::arrays::elements(((), &self.$family.$field[..]), &mut push), )* )*
                    $( Quantity::$source_id => {} )*
                }
                all
            }

            /// Calls `visit` for the numbers of a quantity, to change.
            pub fn numbers_mut(&mut self, quantity: Quantity, mut visit: impl FnMut(&mut T)) {
                self.elements_of(quantity, &mut |(), _, numbers| numbers.iter_mut().for_each(&mut visit));
            }

            /// The elements of a quantity, to change.
            fn elements_of(&mut self, quantity: Quantity, visit: &mut dyn FnMut((), usize, &mut [T])) {
                match quantity {
                    $( $( Quantity::$id => $crate::arrays::elements_mut(((), &mut self.$family.$field[..]), visit), )* )*
                    $( Quantity::$source_id => {} )*
                }
            }
        }

        impl<T: $crate::scalar::Scalar> $source_numbers<T> {
            /// As [`Model::for_each`].
            pub fn for_each_quantity(&self, mut visit: impl FnMut(Quantity, usize, usize, T)) {
                $( $crate::arrays::walk(&self.$source, |element, component, number| {
                    visit(Quantity::$source_id, element, component, number);
                }); )*
            }

            /// As [`Model::for_each_mut`].
            pub fn for_each_quantity_mut(&mut self, mut visit: impl FnMut(Quantity, usize, usize, &mut T)) {
                $( $crate::arrays::walk_mut(&mut self.$source, |element, component, number| {
                    visit(Quantity::$source_id, element, component, number);
                }); )*
            }
        }
    };
}

pub(crate) use quantities;

/// Declares a word that names the attribute of an element.
macro_rules! attribute_of {
    ($($word:ident: $element:ident;)*) => {
        $(
            #[doc = concat!("Set by this attribute of a ", stringify!($word), ".")]
            pub(crate) const fn $word(self, name: &'static str) -> Self {
                self.set_by(ElementKind::$element, name)
            }
        )*
    };
}

/// Declares a word that sets how elements of the field and of the file belong together.
macro_rules! over {
    ($($(#[$doc:meta])* $word:ident: $over:ident;)*) => {
        $( $(#[$doc])* pub(crate) const fn $word(mut self) -> Self {
            if let Some(attribute) = &mut self.attribute {
                attribute.over = Over::$over;
            }
            self
        } )*
    };
}

/// Declares a word for MuJoCo's name.
macro_rules! exchange {
    ($($(#[$doc:meta])* $word:ident: $exchange:ident;)*) => {
        $( $(#[$doc])* pub(crate) const fn $word(mut self, name: &'static str) -> Self {
            self.mujoco = Some((name, Exchange::$exchange));
            self
        } )*
    };
}

/// Words of the declaration.
impl Row {
    attribute_of! {
        option: Option;
        body: Body;
        joint: Joint;
        geom: Geom;
        site: Site;
        camera: Camera;
        mesh: Mesh;
        height_field: HeightField;
        pair: Pair;
        law: Law;
        learned: Learned;
        equality: Equality;
        tendon: Tendon;
        actuator: Actuator;
        sensor: Sensor;
        key: Key;
    }

    const fn set_by(mut self, element: ElementKind, name: &'static str) -> Self {
        self.attribute = Some(Attribute {
            element,
            name,
            aliases: &[],
            over: Over::Element,
            components: None,
        });
        self
    }

    /// Other names of the attribute.
    pub(crate) const fn aliases(mut self, aliases: &'static [&'static str]) -> Self {
        if let Some(attribute) = &mut self.attribute {
            attribute.aliases = aliases;
        }
        self
    }

    /// The attribute has some of the components alone.
    pub(crate) const fn components(mut self, first: usize, count: usize) -> Self {
        if let Some(attribute) = &mut self.attribute {
            attribute.components = Some((first, count));
        }
        self
    }

    over! {
        /// All degrees of freedom of a joint have one value.
        all_dofs: Dofs;
        /// It is that of the joint's coordinate.
        coordinate: Coordinate;
        /// It is that of the mesh's vertices.
        vertices: Vertices;
        /// It is that of the height field's elevations.
        elevations: Elevations;
        /// It is that of the tendon's path.
        path: Wraps;
        /// It is that of the term's weights.
        weights: Weights;
    }

    exchange! {
        /// MuJoCo has the same numbers under this name.
        mujoco: Same;
        /// MuJoCo has the same thing under this name, up to signs and order of axes.
        frame: Frame;
        /// MuJoCo's numbers are compared, not taken over.
        compared: Compared;
        /// MuJoCo's numbers are taken over, not compared.
        adopted: Adopted;
        /// MuJoCo calls it so.
        called: Name;
    }

    /// The letter in equations.
    pub(crate) const fn symbol(mut self, symbol: &'static str) -> Self {
        self.symbol = symbol;
        self
    }

    /// What it is for.
    pub(crate) const fn purpose(mut self, purpose: Purpose) -> Self {
        self.purpose = purpose;
        self
    }

    /// Not below zero.
    pub(crate) const fn positive(self) -> Self {
        self.at_least(0.0)
    }

    /// Not below this value.
    pub(crate) const fn at_least(mut self, least: f64) -> Self {
        self.range = Range::From(least);
        self
    }

    /// Of the sign that it has.
    pub(crate) const fn one_sign(mut self) -> Self {
        self.range = Range::OneSign;
        self
    }

    /// Nothing follows from it.
    pub(crate) const fn direct(mut self) -> Self {
        self.role = Role::Direct;
        self
    }

    /// Follows from others: from which.
    pub(crate) const fn derived(mut self, from: &'static str) -> Self {
        self.role = Role::Derived(from);
        self
    }

    /// Ends iterations.
    pub(crate) const fn setting(mut self) -> Self {
        self.role = Role::Setting;
        self
    }

    /// Nothing can be differentiated by it: why.
    pub(crate) const fn refused(mut self, why: &'static str) -> Self {
        self.role = Role::Refused(why);
        self
    }

    /// The numbers of an element are of length one.
    pub(crate) const fn unit_vector(mut self) -> Self {
        self.is_unit_vector = true;
        self
    }

    /// Infinity is a value.
    pub(crate) const fn may_be_infinite(mut self) -> Self {
        self.may_be_infinite = true;
        self
    }
}
