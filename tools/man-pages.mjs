// Writes man/*.1 from the compiled flag tables.
import {mkdirSync, readdirSync, rmSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {flagTables} from '#src/cli/commands.js';
import {manualPages} from '#src/options/programs/manual.js';

mkdirSync('man', {recursive: true});
for (const file of readdirSync('man')) rmSync(join('man', file));
for (const {file, text} of manualPages(await flagTables())) writeFileSync(join('man', file), text);
