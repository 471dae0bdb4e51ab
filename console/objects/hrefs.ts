import {hrefOf} from '#page/base/route.js';
import type {Resource} from '#page/api/kinds.js';

/** The place of the list of a kind. */
export const listHref = ({group, plural}: Pick<Resource, 'group' | 'plural'>, filter = ''): string =>
  hrefOf('objects', [group || 'core', plural], {filter});

/** The place of an object. */
export const objectHref = (
  {group, plural}: Pick<Resource, 'group' | 'plural'>,
  namespace: string | undefined,
  name: string,
  tab = '',
): string => hrefOf('objects', [group || 'core', plural, namespace || '-', name], {tab});
