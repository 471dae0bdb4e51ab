/** Whether this is the executable that has all programs by the names they are called by. */
export const isExecutable = (): boolean => process.getBuiltinModule('node:sea').isSea();

/** The arguments that let `process.execPath` run `plat` again: its script, or its name where that is the executable. */
export const ownProgram = (): string => (isExecutable() ? 'plat' : process.argv[1]!);
