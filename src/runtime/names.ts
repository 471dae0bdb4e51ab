/** What choosing controllers needs to know of one. */
export interface Named {
  readonly name: string;
  readonly aliases?: readonly string[];
  readonly offByDefault?: boolean;
}

/** Refuses a list in which a name or an alias is empty, used twice, or an alias is another's name: a mistake of the program, not of its user. */
export const checkNames = (controllers: readonly Named[]): void => {
  const names = new Set<string>();
  for (const {name} of controllers) {
    if (!name) throw new Error('a controller has no name');
    if (names.has(name)) throw new Error(`controller ${name} is declared twice`);
    names.add(name);
  }
  const aliases = new Set<string>();
  for (const {name, aliases: own = []} of controllers) {
    for (const alias of own) {
      if (!alias || names.has(alias)) throw new Error(`alias "${alias}" of controller ${name} is empty or the name of a controller`);
      if (aliases.has(alias)) throw new Error(`alias ${alias} of controller ${name} is taken`);
      aliases.add(alias);
    }
  }
};

const bare = (item: string): string => (item.startsWith('-') ? item.slice(1) : item);

/** The items of `--controllers` that name nothing in the list; `*` always does. */
export const unknownItems = (selection: readonly string[], controllers: readonly Named[]): string[] => {
  const known = new Set(['*', ...controllers.flatMap(({name, aliases = []}) => [name, ...aliases])]);
  return selection.map(bare).filter(item => !known.has(item));
};

/** Whether `--controllers` chooses a controller: the first item that names it decides; else `*` chooses what is not off by default. */
export const isChosen = ({name, aliases = [], offByDefault = false}: Named, selection: readonly string[]): boolean => {
  const own = new Set([name, ...aliases]);
  const verdict = selection.find(item => item !== '*' && own.has(bare(item)));
  if (verdict !== undefined) return !verdict.startsWith('-');
  return selection.includes('*') && !offByDefault;
};
