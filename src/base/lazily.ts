/** Makes a value when it is first asked for. */
export const lazily = <T>(make: () => T): (() => T) => {
  let made: {readonly value: T} | undefined;
  return () => (made ??= {value: make()}).value;
};
