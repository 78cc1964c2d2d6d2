//! The numbers that the engine and learned functions are generic over: plain `f64`, and [`Dual`] numbers that carry
//! derivatives along (forward mode).
//!
//! ```
//! use carom_scalar::{Dual, Scalar};
//!
//! fn decay<T: Scalar>(t: T) -> T {
//!     (-t * 2.0).exp()
//! }
//!
//! let moving = decay(Dual::<1>::variable(0.5, 0));
//! assert_eq!(moving.value, decay(0.5));
//! assert_eq!(moving.tangent, [-2.0 * decay(0.5)]);
//! ```

pub mod dual;
pub mod scalar;

pub use dual::Dual;
pub use scalar::Scalar;
