/** Returns a function that creates a value on its first call and returns it again on later ones. */
export const lazily = <T>(make: () => T): (() => T) => {
  let made: {readonly value: T} | undefined;
  return () => (made ??= {value: make()}).value;
};
