/** Sets a key of an object. Keys are data, `__proto__` included. */
export const setProperty = (object: Record<string, unknown>, key: string, value: unknown): void => {
  if (key === '__proto__') Object.defineProperty(object, key, {value, writable: true, enumerable: true, configurable: true});
  else object[key] = value;
};
