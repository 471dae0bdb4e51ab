/** Flags that the configuration file replaces. */
export const inFile = {deprecated: 'set this in the configuration file named by --config instead'} as const;
