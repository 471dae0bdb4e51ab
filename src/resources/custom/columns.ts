import type {KubeObject} from '#src/api/types.js';
import type {Column} from '#src/resources/definition.js';
import {customColumns as read, type ColumnDefinition} from '#src/schema/custom/paths/columns.js';
import type {Version} from '#src/resources/apiextensions/types.js';

const age: ColumnDefinition = {
  name: 'Age',
  type: 'date',
  description: 'When the object was created, by the clock of the server.',
  jsonPath: '.metadata.creationTimestamp',
};

/**
 * Returns the columns of a custom resource after its name: those of its definition, or its age (the API reference,
 * CustomResourceColumnDefinition).
 */
export const customColumns = (stated: Version['additionalPrinterColumns']): readonly Column<KubeObject>[] =>
  read(stated?.length ? stated : [age]) as readonly Column<KubeObject>[];
