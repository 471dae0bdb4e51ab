const shortModes = {ReadWriteOnce: 'RWO', ReadOnlyMany: 'ROX', ReadWriteMany: 'RWX', ReadWriteOncePod: 'RWOP'};

/** Formats access modes for tables, in a fixed order. */
export const accessModesText = (modes: readonly string[] = []): string =>
  Object.entries(shortModes)
    .flatMap(([mode, short]) => (modes.includes(mode) ? short : []))
    .join(',');
