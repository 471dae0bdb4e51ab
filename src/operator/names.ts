/** The names of controllers and runnables. */
export const isName = (name: string): boolean => /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(name);
