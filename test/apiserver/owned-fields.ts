import type {KubeObject} from '#src/api/types.js';
import {entriesOf} from './applying.js';

export const fieldsOf = (object: KubeObject, manager: string): object | undefined =>
  entriesOf(object).find(entry => entry.manager === manager)?.fieldsV1;
