import type {FieldError} from '#src/api/field-error.js';

export const texts = (errors: readonly FieldError[]): string[] => errors.map(({path, detail}) => `${path}: ${detail}`);
