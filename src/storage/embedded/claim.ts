import {StoreUnusable} from '#src/storage/errors.js';
import {tables} from './layout.js';
import type {Tree} from './writes.js';

/** The layout of `layout.ts`. A store of another format is refused. */
const format = 1;

const metaKeys = {owner: `${tables.meta}owner`, identity: `${tables.meta}identity`} as const;

interface Identity {
  readonly format: number;
  readonly naming: string;
}

/**
 * The processes that read the tree now. LMDB keeps the list in shared memory and tells the living by a file lock the kernel
 * drops with the process, so neither SIGKILL nor a reused process id deceives it.
 */
const livingReaders = (tree: Tree): Set<number> => {
  tree.readerCheck();
  const lines = tree.readerList().split('\n');
  return new Set(lines.map(line => Number.parseInt(line, 10)).filter(pid => pid > 0));
};

const checkIdentity = (directory: string, {format: storeFormat, naming: storeNaming}: Identity, naming: string): void => {
  if (storeFormat !== format) throw new StoreUnusable(`the store in ${directory} has format ${storeFormat}, this program reads format ${format}`);
  if (storeNaming !== naming) throw new StoreUnusable(`the store in ${directory} was written with --naming=${storeNaming}, not ${naming}: give --naming=${storeNaming} with this --data-dir, or another --data-dir`);
};

const text = (bytes: Buffer | undefined): string | undefined => bytes && Buffer.from(bytes).toString();

/**
 * Makes this process the owner of the tree, and marks a new one with format and naming. Refuses, changing nothing, while another
 * process owns it or when the marks do not match. The transaction lets only one of two claimants be first.
 */
export const claim = (tree: Tree, directory: string, naming: string): void => {
  // The first read enters this process into LMDB's list, so that a later claimant sees it.
  tree.getBinary(metaKeys.owner);
  tree.transactionSync(() => {
    const owner = Number(text(tree.getBinary(metaKeys.owner)) ?? 0);
    if (owner !== process.pid && livingReaders(tree).has(owner)) throw new StoreUnusable(`the store in ${directory} is in use by process ${owner}`);
    const identity = text(tree.getBinary(metaKeys.identity));
    if (identity !== undefined) checkIdentity(directory, JSON.parse(identity) as Identity, naming);
    else tree.putSync(metaKeys.identity, Buffer.from(JSON.stringify({format, naming} satisfies Identity)));
    tree.putSync(metaKeys.owner, Buffer.from(String(process.pid)));
  });
};
