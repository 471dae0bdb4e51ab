// The fields of state files. Pure.

export type Fields = Readonly<Record<string, unknown>>;

export const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value);

export const corrupted = (): Error => new Error('checkpoint is corrupted');

/** Returns a value that is an object. Throws if it is none. */
export const fieldsOf = (value: unknown): Fields => {
  if (!isFields(value)) throw corrupted();
  return value;
};

/** Parses a JSON object. Throws if it is none. */
export const parsedFields = (text: string): Fields => fieldsOf(JSON.parse(text));
