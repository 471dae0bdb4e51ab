import type {KubeObject} from '#src/api/types.js';
import {selectableFields} from '#src/schema/custom/paths/columns.js';
import type {Version} from '#src/resources/apiextensions/types.js';

/** Returns the selectable fields of a definition (KEP-4358). */
export const selectable = (fields: Version['selectableFields'] = []): Readonly<Record<string, (object: Readonly<KubeObject>) => string>> =>
  Object.fromEntries(selectableFields(fields.map(({jsonPath}) => jsonPath)));
