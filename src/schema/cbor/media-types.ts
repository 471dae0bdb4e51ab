export const cborMediaType = 'application/cbor';
/** The media type of a stream of objects. */
export const cborSequence = 'application/cbor-seq';
export const cborApplyMediaType = 'application/apply-patch+cbor';
