// A list is the state of all objects at one revision, and not older than it was asked to be.

import {isSame, shown} from '#test/faults/history/content.js';
import type {Listing, Operation} from '#test/faults/history/records.js';
import type {Versions} from './versions.js';

const named = ({client, mode, asked, pages, color, called}: Listing): string =>
  `the list of ${client} called at ${called} (${mode}${asked === undefined ? '' : ` ${asked}`}${color ? `, ${color}` : ''}, ${pages} pages)`;

/** Finds lists that are not the state at their revision. */
export function* checkLists(lists: readonly Listing[], versions: Versions): Generator<string> {
  for (const list of lists) {
    const {revision, color, items} = list;
    const listed = new Map(items.map(item => [item.key, item]));
    if (listed.size !== items.length) yield `${named(list)} holds an object twice`;
    for (const key of versions.keys()) {
      const version = versions.at(key, revision);
      const item = listed.get(key);
      const isKnown = versions.isCovered(version?.revision ?? 0, revision);
      const isListed = version?.content !== undefined && (color === undefined || version.content.color === color);
      if (!item) {
        if (isListed && isKnown)
          yield `${named(list)} at ${revision} lacks ${key}, which is ${shown(version.content!)} since ${version.revision}`;
      } else if (item.revision > revision) yield `${named(list)} at ${revision} holds revision ${item.revision} of ${key}`;
      else if (version?.revision !== item.revision || !version.content || !isSame(version.content, item.content) || !isListed)
        yield `${named(list)} at ${revision} holds ${key} of ${item.revision}, but it is that of ${version?.revision}: ${
          version?.content ? shown(version.content) : 'deleted'
        }`;
    }
  }
}

/** Finds lists that are older than they may be: than writes that had ended before them, or than the revision that was asked for. */
export function* checkRecency(lists: readonly Listing[], operations: readonly Operation[]): Generator<string> {
  const writes = operations.filter(({outcome, revision}) => outcome === 'ok' && revision !== undefined);
  const ended = [
    ...writes.map(({returned, revision}) => ({returned, revision: revision!})),
    ...lists.map(({returned, revision}) => ({returned, revision})),
  ].sort((a, b) => a.returned - b.returned);
  let newest = 0;
  let next = 0;
  for (const list of [...lists].sort((a, b) => a.called - b.called)) {
    const {mode, asked, revision, called} = list;
    for (; next < ended.length && ended[next]!.returned < called; next++) newest = Math.max(newest, ended[next]!.revision);
    if (mode === 'newest' && revision < newest) yield `${named(list)} is of ${revision}, though ${newest} had been answered before`;
    if (mode === 'notOlder' && revision < asked!) yield `${named(list)} is of ${revision}`;
    if (mode === 'exact' && revision !== asked) yield `${named(list)} is of ${revision}`;
  }
}
