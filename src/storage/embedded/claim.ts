import {StoreUnusable} from '#src/storage/errors.js';
import {tables} from './layout.js';
import {FileDamaged} from './data-file.js';
import type {Tree} from './writes.js';

/**
 * The version of the format that `layout.ts` describes. A store of an older version is read and takes this version when
 * it is claimed; any other version is refused.
 */
const format = 2;
const oldestFormat = 1;

const metaKeys = {owner: `${tables.meta}owner`, identity: `${tables.meta}identity`} as const;

export interface Identity {
  readonly format: number;
  readonly naming: string;
}

/**
 * Returns the live processes that have the tree open. LMDB keeps the list in shared memory and detects dead ones by a
 * file lock that the kernel releases with the process, so that neither SIGKILL nor a reused process id matters.
 */
const livingReaders = (tree: Tree): Set<number> => {
  tree.readerCheck();
  const lines = tree.readerList().split('\n');
  return new Set(lines.map(line => Number.parseInt(line, 10)).filter(pid => pid > 0));
};

const checkIdentity = (directory: string, {format: storeFormat, naming: storeNaming}: Identity, naming: string): void => {
  if (!(storeFormat >= oldestFormat && storeFormat <= format))
    throw new StoreUnusable(`the store in ${directory} has format ${storeFormat}, this program reads format ${format}`);
  if (storeNaming !== naming)
    throw new StoreUnusable(
      `the store in ${directory} was written with --naming=${storeNaming}, not ${naming}: give --naming=${storeNaming} with this --data-dir, or another --data-dir`,
    );
};

/** Returns what a tree records about itself; undefined for a new one. Throws for a damaged one. */
export const identityOf = (tree: Tree): Identity | undefined => {
  const identity = text(tree.getBinary(metaKeys.identity));
  if (identity === undefined) return undefined;
  try {
    return JSON.parse(identity) as Identity;
  } catch (error) {
    throw new FileDamaged('its record of its own format is damaged', {cause: error});
  }
};

const text = (bytes: Buffer | undefined): string | undefined => bytes && Buffer.from(bytes).toString();

/** Whether this process is the owner of the tree. The read enters it into LMDB's reader list. */
export const isOwned = (tree: Tree): boolean => text(tree.getBinary(metaKeys.owner)) === String(process.pid);

/**
 * Makes this process the owner of the tree, and records format and naming in a new one. Throws, without changes, while
 * another live process owns it or when format or naming differ. The transaction serializes concurrent claims.
 */
export const claim = (tree: Tree, directory: string, naming: string): void => {
  // The first read enters this process into LMDB's reader list.
  tree.getBinary(metaKeys.owner);
  tree.transactionSync(() => {
    const owner = Number(text(tree.getBinary(metaKeys.owner)) ?? 0);
    if (owner !== process.pid && livingReaders(tree).has(owner))
      throw new StoreUnusable(`the store in ${directory} is in use by process ${owner}: stop that one, or give another --data-dir`);
    const identity = identityOf(tree);
    if (identity !== undefined) checkIdentity(directory, identity, naming);
    if (identity?.format !== format) tree.putSync(metaKeys.identity, Buffer.from(JSON.stringify({format, naming} satisfies Identity)));
    tree.putSync(metaKeys.owner, Buffer.from(String(process.pid)));
  });
};
