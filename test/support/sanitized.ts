/** Does the suite run over an addon built with sanitizers? Their shadow and quarantine are resident memory too. */
export const SANITIZED = process.env['NODE_DLPACK_SANITIZED'] === '1';
