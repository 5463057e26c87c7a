//! A tensor addon in Rust, complete: makeTensor() hands memory of its own to whoever wants it, takeTensor(x) works on
//! the memory of others, and nothing is copied. napi-rs speaks with JavaScript, dlpark with DLPack, and node-dlpack is
//! known by its C header alone (see kit.rs).

mod kit;

use std::sync::atomic::{AtomicI32, Ordering};

use dlpark::ffi::{DLDataType, DLDevice};
use dlpark::metadata::Fixed;
use dlpark::{DlpackFlags, TensorRef};
use kit::{Capsule, Taken};
use napi::bindgen_prelude::BigInt;
use napi::{Error, Result};
use napi_derive::napi;

#[napi(module_exports)]
pub fn init() -> Result<()> {
    if kit::pin() {
        Ok(())
    } else {
        Err(Error::from_reason("the addon cannot stay mapped"))
    }
}

/// Matrices that somebody still holds. Consumers end them on any thread.
static HELD: AtomicI32 = AtomicI32::new(0);

/// The elements of one.
struct Elements(Vec<f32>);

impl Elements {
    fn new() -> Self {
        HELD.fetch_add(1, Ordering::Relaxed);
        Elements((0..6u8).map(f32::from).collect())
    }
}

impl Drop for Elements {
    fn drop(&mut self) {
        HELD.fetch_sub(1, Ordering::Relaxed);
    }
}

#[napi]
pub fn held() -> i32 {
    HELD.load(Ordering::Relaxed)
}

/// A float32 matrix, in a capsule that owns it.
#[napi]
pub fn make_tensor() -> Result<Capsule> {
    let mut elements = Elements::new();
    let data = elements.0.as_mut_ptr().cast();
    let mut tensor = Fixed::new([2, 3], [3, 1])
        .initialize(Box::new(elements))
        .map_err(|error| Error::from_reason(error.to_string()))?;
    tensor.set_data(data).set_dtype(DLDataType::F32).set_device(DLDevice::CPU);
    // IS_COPIED: nobody else uses the vector, which moved into the tensor, so the consumer may write to it.
    unsafe { tensor.set_flags_unchecked(DlpackFlags::IS_COPIED) };
    Ok(Capsule(unsafe { tensor.finish() }))
}

/// What was seen of a tensor.
#[napi(object)]
pub struct Seen {
    pub sum: f64,
    pub address: BigInt,
    pub flags: f64,
}

/// The sum of a float32 tensor, of any shape and strides.
#[napi]
pub fn take_tensor(x: Taken) -> Result<Seen> {
    let Taken(tensor) = x; // dropped at the end, whatever comes: that calls its deleter
    let flags = tensor.flags().bits() as f64;
    let view = tensor.validate().map_err(|error| Error::from_reason(error.to_string()))?;
    let first = unsafe { view.offset_data_ptr::<f32>() }.map_err(|error| Error::from_reason(error.to_string()))?;
    let sum = if view.num_elements() == 0 { 0.0 } else { sum(&view, first)? };
    Ok(Seen { sum, address: BigInt::from(first as u64), flags })
}

fn sum(view: &TensorRef, first: *const f32) -> Result<f64> {
    let strides = view.strides_or_compact().map_err(|error| Error::from_reason(error.to_string()))?;
    let mut index = vec![0i64; view.ndim()];
    let mut sum = 0.0;
    for _ in 0..view.num_elements() {
        let offset: i64 = index.iter().zip(strides.iter()).map(|(i, stride)| i * stride).sum();
        // The kit has checked that every element of this shape and these strides lies in the address space.
        sum += f64::from(unsafe { *first.offset(offset as isize) });
        for axis in (0..index.len()).rev() {
            index[axis] += 1;
            if index[axis] < view.shape()[axis] {
                break;
            }
            index[axis] = 0;
        }
    }
    Ok(sum)
}
