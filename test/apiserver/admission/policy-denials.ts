export const by = (message: string) => `ValidatingAdmissionPolicy 'p' with binding 'b' denied request: ${message}`;
