//! node-dlpack's kit for native addons, as Rust sees it: a tensor argument that is taken, and a tensor result that is
//! handed out. On both sides dlpark owns the managed tensor.

use std::ffi::{c_int, CStr};
use std::ptr;

use dlpark::ffi::{DLManagedTensorVersioned, DLTensor};
use dlpark::{versioned::Dlpack, ManagedTensorBase};
use napi::bindgen_prelude::{FromNapiValue, ToNapiValue, TypeName, ValidateNapiValue};
use napi::{sys, Error, Result, Status, ValueType};

unsafe extern "C" {
    fn kit_take(env: sys::napi_env, value: sys::napi_value, out: *mut *mut DLManagedTensorVersioned) -> c_int;
    fn kit_make(env: sys::napi_env, managed: *mut DLManagedTensorVersioned, out: *mut sys::napi_value) -> c_int;
    fn kit_check(tensor: *const DLTensor) -> c_int;
    fn kit_throw(env: sys::napi_env, error: c_int, what: *const std::ffi::c_char);
    fn kit_pin() -> c_int;
}

/// Keeps this module mapped: its deleters may be called when the last thread that loaded it is gone.
pub fn pin() -> bool {
    unsafe { kit_pin() != 0 }
}

/// Throws the JavaScript error of a code (the producer's own error, where that is pending already).
fn thrown(env: sys::napi_env, error: c_int, what: &CStr) -> Error {
    unsafe { kit_throw(env, error, what.as_ptr()) };
    Error::from_status(Status::PendingException)
}

/// An argument: a capsule, a tensor of node-dlpack, anything with `__dlpack__`. It was taken and checked, and is ours.
pub struct Taken(pub Dlpack);

impl TypeName for Taken {
    fn type_name() -> &'static str {
        "Tensor"
    }
    fn value_type() -> ValueType {
        ValueType::Unknown
    }
}

impl ValidateNapiValue for Taken {}

impl FromNapiValue for Taken {
    unsafe fn from_napi_value(env: sys::napi_env, value: sys::napi_value) -> Result<Self> {
        let mut managed = ptr::null_mut();
        let error = unsafe { kit_take(env, value, &mut managed) };
        if error != 0 {
            return Err(thrown(env, error, c"takeTensor(x)"));
        }
        // The kit has looked at the version; from here on dlpark calls the deleter.
        let tensor = unsafe { Dlpack::from_raw(managed) }.map_err(|error| Error::from_reason(error.to_string()))?;
        let error = unsafe { kit_check((*managed).tensor()) };
        if error != 0 {
            return Err(thrown(env, error, c"takeTensor(x)"));
        }
        Ok(Taken(tensor))
    }
}

/// A result: a capsule, which owns the tensor until somebody takes it.
pub struct Capsule(pub Dlpack);

impl TypeName for Capsule {
    fn type_name() -> &'static str {
        "DLPackCapsule"
    }
    fn value_type() -> ValueType {
        ValueType::External
    }
}

impl ToNapiValue for Capsule {
    unsafe fn to_napi_value(env: sys::napi_env, capsule: Self) -> Result<sys::napi_value> {
        let mut value = ptr::null_mut();
        let error = unsafe { kit_make(env, capsule.0.into_raw(), &mut value) };
        if error != 0 {
            return Err(thrown(env, error, c"makeTensor()"));
        }
        Ok(value)
    }
}
