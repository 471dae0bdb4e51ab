/** Goes on with a value at once, or when it comes. */
export const afterwards = <A, B>(value: A | Promise<A>, next: (value: A) => B | Promise<B>): B | Promise<B> => (value instanceof Promise ? value.then(next) : next(value));
