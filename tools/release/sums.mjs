// The checksums of a release, as `sha256sum --check` reads them.
import {createHash} from 'node:crypto';

export const sha256 = bytes => createHash('sha256').update(bytes).digest('hex');

/** Returns the lines of `SHA256SUMS` about files `{name, sha256}`, in the order of their names. */
export const formatSums = files =>
  [...files]
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .map(each => `${each.sha256}  ${each.name}\n`)
    .join('');
