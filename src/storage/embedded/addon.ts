/** Loads the addon of the embedded store. Rejects on a machine that it is not made for. */
export const loadAddon = async (): Promise<void> => void (await import('lmdb'));
