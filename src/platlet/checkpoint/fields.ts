// The fields of state files. Pure.

export type Fields = Readonly<Record<string, unknown>>;

export const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value);

export const corrupted = (): Error => new Error('checkpoint is corrupted');

/** Parses a JSON object. Throws if it is none. */
export const parsedFields = (text: string): Fields => {
  const file: unknown = JSON.parse(text);
  if (!isFields(file)) throw corrupted();
  return file;
};
