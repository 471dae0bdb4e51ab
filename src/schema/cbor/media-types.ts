export const cborMediaType = 'application/cbor';
/** A stream of objects in this form. */
export const cborSequence = 'application/cbor-seq';
export const cborApplyMediaType = 'application/apply-patch+cbor';
