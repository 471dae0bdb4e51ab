/** The option of a call for a namespace; none for cluster-scoped objects. */
export const inNamespace = (namespace: string | undefined): {readonly namespace?: string} => (namespace ? {namespace} : {});
