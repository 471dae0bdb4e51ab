// The languages other than JavaScript in whose projects operators are tested against a plane: each has a page in
// docs/testing-from and a project in examples/testing-from.

export interface Language {
  readonly name: string;
  /** What the commands of the page need, as commands that succeed where it is installed. */
  readonly needs: readonly string[];
  /** Fetches the packages. It only fails where the language's registry is not reachable. */
  readonly fetch: string;
  /** Files with versions of packages, which no page repeats. */
  readonly versions: string;
}

export const languages: readonly Language[] = [
  {name: 'go', needs: ['go version'], fetch: 'go mod download', versions: 'go.mod'},
  {
    name: 'python',
    needs: ['python3 -c "import sys, venv, ensurepip; assert sys.version_info >= (3, 10)"'],
    fetch: 'python3 -m venv .fetch && .fetch/bin/pip download --quiet --no-deps --dest .fetch -r requirements.txt',
    versions: 'requirements.txt',
  },
  {name: 'java', needs: ['mvn --version', 'javac --version'], fetch: 'mvn --batch-mode --quiet test-compile', versions: 'pom.xml'},
  {name: 'rust', needs: ['cargo --version', 'cc --version'], fetch: 'cargo fetch --quiet --locked', versions: 'Cargo.toml'},
];

/** The folder of a language's project. */
export const projectOf = (name: string): string => `examples/testing-from/${name}`;

/** The page of a language. */
export const pageOf = (name: string): string => `docs/testing-from/${name}.md`;
