/** Subresources whose body and whose answer are the object itself. */
export const ownSubresources: ReadonlySet<string> = new Set(['status', 'approval', 'finalize', 'resize', 'ephemeralcontainers']);
