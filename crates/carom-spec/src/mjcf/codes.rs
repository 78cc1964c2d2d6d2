//! The stable codes of all MJCF diagnostics.

/// Declares codes as constants and lists them with their meaning.
macro_rules! codes {
    ($($name:ident = $code:literal: $meaning:literal;)*) => {
        $(#[doc = $meaning] pub const $name: &str = $code;)*
        /// Every code with its meaning.
        pub const ALL: &[(&str, &str)] = &[$(($code, $meaning)),*];
    };
}

codes! {
    ROOT = "M001": "the root element is not `mujoco`";
    UNKNOWN_ELEMENT = "M002": "an element is not known at this place";
    UNKNOWN_ATTRIBUTE = "M003": "an attribute is not known for its element";
    REPEATED_ELEMENT = "M004": "an element may appear only once in its parent";
    MISSING_ATTRIBUTE = "M005": "a required attribute is missing";
    VALUE_COUNT = "M006": "an attribute has the wrong number of values";
    BAD_NUMBER = "M007": "a value is not a number of the expected type";
    NUMBER_SIZE = "M008": "a number is too large, infinite or not a number";
    BAD_KEYWORD = "M009": "a value is not one of the allowed words";
    EXCLUSIVE = "M010": "attributes exclude each other";
    VALUE_RANGE = "M011": "a value is outside its allowed range";
    UNKNOWN_CLASS = "M012": "a default class is not defined";
    DEFAULT_CLASS = "M013": "a default class is defined wrongly";
    REPEATED_NAME = "M014": "two elements of one kind have the same name";
    UNKNOWN_REFERENCE = "M015": "an element refers to a name that does not exist";
    INCLUDE = "M016": "an included file cannot be used";
    INCLUDED_TWICE = "M017": "a file is included twice";
    TOO_LARGE = "M018": "the model is too large or nested too deeply";
    WORLD = "M019": "something is not allowed in the world body";
    ASSET = "M020": "an asset or its file cannot be used";
    ATTACH = "M021": "a model cannot be attached";
    REPLICATE = "M022": "a subtree cannot be replicated";
    ORIENTATION = "M023": "an orientation is not defined";
    TRANSMISSION = "M024": "an actuator has no or a contradictory transmission";
    ELEMENT_DATA = "M025": "the data of an element contradict each other";
    EXTENSION = "M026": "a text of carom's own is written wrongly";
    NO_EFFECT = "M101": "something has no effect here";
    CONFLICT = "M102": "options of an attached model differ from those of its parent";
    COMPOSITE = "M201": "composite bodies are not supported";
    FLEXCOMP = "M202": "flexcomp is not supported";
    FLEX = "M203": "flexes are not supported";
    SKIN = "M204": "skins are not supported";
    PLUGIN = "M205": "plugins are not supported";
    SDF = "M206": "signed distance geoms collide as convex hulls";
    SLEEP = "M207": "sleeping is not supported";
    DISCRETE = "M208": "the discrete integrator is not supported";
    SPRING_YIELD = "M209": "plastic springs are not supported";
    SPECULATIVE = "M210": "speculative contacts are not supported";
    TACTILE = "M215": "tactile sensors are not supported";
    FRAME_SCALE = "M216": "scaled frames are not supported";
    IPC = "M217": "the ipc flag is not supported";
    MESH_BUILTIN = "M219": "meshes generated in this shape are not supported";
    ATTACH_COMPILER = "M220": "compiler settings of an attached model are not supported";
}

#[cfg(test)]
mod tests {
    use super::ALL;

    #[test]
    fn codes_are_unique_and_in_order() {
        assert!(ALL.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }
}
