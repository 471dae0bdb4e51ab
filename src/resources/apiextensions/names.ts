import {invalid, required, type FieldError} from '#src/api/field-error.js';
import {dnsLabel1035Problems} from '#src/api/names.js';
import type {Names} from './types.js';

function* validateLabel(text: string | undefined, path: string): Iterable<FieldError> {
  const problems = text ? dnsLabel1035Problems(text) : [];
  if (problems.length > 0) yield invalid(path, text, problems.join(','));
}

function* validateLabels(texts: readonly string[] | undefined, path: string): Iterable<FieldError> {
  for (const [i, text] of (texts ?? []).entries()) {
    const problems = dnsLabel1035Problems(text);
    if (problems.length > 0) yield invalid(`${path}[${i}]`, text, problems.join(','));
  }
}

function* validateKind(text: string | undefined, path: string): Iterable<FieldError> {
  const problems = text ? dnsLabel1035Problems(text.toLowerCase()) : [];
  if (problems.length > 0) yield invalid(path, text, `may have mixed case, but should otherwise match: ${problems.join(',')}`);
}

/** Validates the given names. */
export function* validateNames(
  {plural, singular, kind, listKind, shortNames, categories}: Partial<Names>,
  path: string,
): Iterable<FieldError> {
  yield* validateLabel(plural, `${path}.plural`);
  yield* validateLabel(singular, `${path}.singular`);
  yield* validateKind(kind, `${path}.kind`);
  yield* validateKind(listKind, `${path}.listKind`);
  yield* validateLabels(shortNames, `${path}.shortNames`);
  if (kind && kind === listKind) yield invalid(`${path}.listKind`, listKind, 'kind and listKind may not be the same');
  yield* validateLabels(categories, `${path}.categories`);
}

/** Validates that all required names are present. */
export function* requireNames(names: Partial<Names>, path: string): Iterable<FieldError> {
  for (const field of ['plural', 'singular', 'kind', 'listKind'] as const) if (!names[field]) yield required(`${path}.${field}`);
}
