// Writes docs/flags.md from the compiled flag tables.
import {mkdirSync, writeFileSync} from 'node:fs';
import {flagTables} from '#src/cli/commands.js';
import {flagsReference} from '#src/options/programs/reference.js';

mkdirSync('docs', {recursive: true});
writeFileSync('docs/flags.md', flagsReference(await flagTables()));
