import type {KubeObject} from '#src/api/types.js';
import {selectableFields} from '#src/schema/custom/columns.js';
import type {Version} from '#src/resources/apiextensions/types.js';

/** The fields a definition lets objects be selected by (KEP-4358), with the way to their texts. */
export const selectable = (fields: Version['selectableFields'] = []): Readonly<Record<string, (object: Readonly<KubeObject>) => string>> =>
  Object.fromEntries(selectableFields(fields.map(({jsonPath}) => jsonPath)));
