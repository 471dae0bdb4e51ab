import {hashOf, type Row} from './table.js';

type Json = Readonly<Record<string, unknown>>;

/** An OpenAPI v3 document, with the part of its path after /openapi/v3/. */
export interface NamedDocument {
  readonly name: string;
  readonly document: Json;
}

/**
 * Leaves out descriptions, which the original's recorded documents lack, and the values of enumerations, which they
 * were recorded without.
 */
const plain = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name, inner]) => !(name === 'description' && typeof inner === 'string') && !(name === 'enum' && Array.isArray(inner)))
      .map(([name, inner]) => [name, plain(inner)]),
  );
};

/** Returns a line for each schema, security scheme and path item of each document. */
export const openApiRows = (documents: readonly NamedDocument[]): Row[] =>
  documents.flatMap(({name, document}) => {
    const {components = {}, paths = {}} = document as {components?: Record<string, Json>; paths?: Json};
    return [...Object.values(components), paths].flatMap(part =>
      Object.entries(part).map(([item, content]) => [name, item, hashOf(plain(content))]),
    );
  });
