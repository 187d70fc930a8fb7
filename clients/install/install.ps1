# Sets up the coding tools on this machine for the model gateway at the address below; -Help lists the options.
# The program below needs Node.js 18 or later. It reads no files but the tools' own settings and your shell's profiles,
# and connects to that address only. Its source is in the gateway's repository, in clients/install/program.
# For PowerShell 5.1 and later.
param(
  [string[]]$Tools = @(),
  [string]$Model = '',
  [string]$Interface = '',
  [switch]$DryRun,
  [switch]$Yes,
  [switch]$Uninstall,
  [switch]$ClearVariables,
  [switch]$List,
  [switch]$Help
)
Set-StrictMode -Version 2.0
$ErrorActionPreference = 'Stop'

$BaseUrl = '@BASE_URL@'
$Program = @'
@DATA@
@PROGRAM@
'@

function Test-Node {
  if (-not (Get-Command node -ErrorAction SilentlyContinue)) { return $false }
  return (& node -p 'parseInt(process.versions.node, 10) >= 18') -eq 'true'
}

if (-not (Test-Node)) {
  Write-Warning @"
This installer needs Node.js 18 or later, which was not found on the PATH. Nothing is changed.
Install Node.js and run it again, or write the settings by hand: $BaseUrl/install.md
shows the file and the text for each tool, under "By hand".
"@
  exit 1
}

$Words = @()
if ($Tools.Count -gt 0) { $Words += @('--tools', ($Tools -join ',')) }
if ($Model -ne '') { $Words += @('--model', $Model) }
if ($Interface -ne '') { $Words += @('--interface', $Interface) }
if ($DryRun) { $Words += '--dry-run' }
if ($Yes) { $Words += '--yes' }
if ($Uninstall) { $Words += '--uninstall' }
if ($ClearVariables) { $Words += '--clear-variables' }
if ($List) { $Words += '--list' }
if ($Help) { $Words += '--help' }

# A file, because standard input is needed for the questions.
$File = Join-Path ([IO.Path]::GetTempPath()) "model-gateway-install-$([Guid]::NewGuid()).cjs"
try {
  [IO.File]::WriteAllText($File, $Program)
  & node $File @Words
  $Code = $LASTEXITCODE
} finally {
  Remove-Item -LiteralPath $File -ErrorAction SilentlyContinue
}
exit $Code
