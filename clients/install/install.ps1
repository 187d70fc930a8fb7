# Sets up the coding tools on this machine for the model gateway at the address below; -Help says how.
# It reads no file but the tools' own settings, and speaks to that address alone. For PowerShell 5.1 and later.
param(
  [string[]]$Tools = @(),
  [string]$Model = '',
  [string]$Interface = '',
  [switch]$DryRun,
  [switch]$Yes,
  [switch]$Uninstall,
  [switch]$List,
  [switch]$Help
)
Set-StrictMode -Version 2.0
$ErrorActionPreference = 'Stop'

$BaseUrl = '@BASE_URL@'
$Data = @'
@DATA@
'@

$State = Join-Path ([Environment]::GetFolderPath('LocalApplicationData')) 'model-gateway/install'
$Lines = @($Data -split "`r?`n" | Where-Object { $_ -ne '' } | ForEach-Object { , @($_ -split "`t") })
$Utf8 = New-Object System.Text.UTF8Encoding($false)
$script:Failures = 0

function Show-Help {
  Write-Output @"
Sets up coding tools for the model gateway at $BaseUrl.

  irm $BaseUrl/install.ps1 -OutFile install.ps1
  ./install.ps1 -Yes -Tools claude-code,opencode

The key comes from the environment variable MODEL_GATEWAY_API_KEY, or is asked for. It is sent to $BaseUrl alone, once,
to see whether it works, and written into the settings of the tools that you choose. It is never shown.

  -Tools A,B      these tools; "all" for each one found. A tool may name its interface and model:
                  opencode:messages:modelx-v4-flash
  -Model NAME     the model that the tools begin with
  -Interface NAME chat, messages or responses, where a tool has the choice
  -DryRun         say what would be written, and write nothing
  -Yes            ask nothing
  -Uninstall      put every file back as it was
  -List           name the tools that this program knows

JSON settings are read and written whole: comments cannot be kept, so a file with comments is left as it is. Of TOML and
YAML only a new file is written. In both cases it says what to write by hand.
Copies of the files as they were are kept in $State.
"@
}

function Get-Rows([string]$Kind, [string]$Tool = '') {
  foreach ($row in $Lines) { if ($row[0] -eq $Kind -and ($Tool -eq '' -or $row[1] -eq $Tool)) { , $row } }
}

function Get-Words([string]$Text) {
  if ($Text -eq '-') { return }
  $Text -split ','
}

function Find-Tools {
  foreach ($row in @(Get-Rows 'tool')) {
    $isFound = $false
    foreach ($name in @(Get-Words $row[4])) { if (Get-Command $name -ErrorAction SilentlyContinue) { $isFound = $true } }
    foreach ($name in @(Get-Words $row[5])) { if (Test-Path (Join-Path $HOME $name) -PathType Container) { $isFound = $true } }
    if ($isFound) { $row[1] }
  }
}

function Select-Tools {
  if ($Tools.Count -gt 0 -and $Tools[0] -ne 'all') { return @($Tools | ForEach-Object { $_ -split ',' }) }
  $found = @(Find-Tools)
  if ($found.Count -eq 0) { Write-Output 'No tool that this program knows was found here. Name one with -Tools; -List lists them.' | Out-Host }
  if ($Yes -or $DryRun -or $Tools.Count -gt 0) { return $found }
  return @($found | Where-Object { (Read-Host "Set up $($_)? [Y/n]") -notmatch '^[nN]' })
}

function Read-Key {
  $key = $env:MODEL_GATEWAY_API_KEY
  if ([string]::IsNullOrEmpty($key)) {
    if ($Yes) { throw "There is no key: put it into the environment variable MODEL_GATEWAY_API_KEY. Keys are made at $BaseUrl/dashboard/keys" }
    $secret = Read-Host "Key (made at $BaseUrl/dashboard/keys; it is not shown)" -AsSecureString
    $pointer = [Runtime.InteropServices.Marshal]::SecureStringToBSTR($secret)
    try { $key = [Runtime.InteropServices.Marshal]::PtrToStringBSTR($pointer) }
    finally { [Runtime.InteropServices.Marshal]::ZeroFreeBSTR($pointer) }
  }
  if ($key -match '\*') { throw "This is the masked form of a key. The full value is shown once, when the key is made: make a new one at $BaseUrl/dashboard/keys" }
  if ($key -notmatch '^sk-mg-[0-9A-Za-z]+$') { throw "This is not a key of this service: those begin with sk-mg-. Make one at $BaseUrl/dashboard/keys" }
  return $key
}

# The one call. Returns the names of the models that the key may use.
function Test-Key([string]$Key) {
  [Net.ServicePointManager]::SecurityProtocol = [Net.ServicePointManager]::SecurityProtocol -bor [Net.SecurityProtocolType]::Tls12
  try {
    $answer = Invoke-RestMethod -Uri "$BaseUrl/v1/models" -Headers @{ authorization = "Bearer $Key" } -TimeoutSec 30 -MaximumRedirection 0
  } catch {
    $status = 0
    if ($_.Exception.PSObject.Properties['Response'] -and $_.Exception.Response) { $status = [int]$_.Exception.Response.StatusCode }
    if ($status -eq 401) { throw "The service does not know this key, or it was deleted, disabled or has expired. Make a new one at $BaseUrl/dashboard/keys. Nothing is changed." }
    if ($status -ne 0) { throw "The service answered with status $status. Nothing is changed: try again later." }
    throw "$BaseUrl cannot be reached from here. Nothing is changed."
  }
  Write-Host 'The key works.'
  return @($answer.data | ForEach-Object { $_.id })
}

# The models of an interface: rows of name, interfaces, context, longest answer, small.
function Get-Models([string]$Speaks, $Usable) {
  foreach ($row in @(Get-Rows 'model')) {
    $interfaces = $row[2] -split ','
    $isUsable = ($null -eq $Usable) -or ($Usable -contains $row[1]) -or ($interfaces -notcontains 'chat')
    if ($interfaces -contains $Speaks -and $isUsable) { , $row }
  }
}

function Expand-Model([string]$Text, $Row) {
  return $Text.Replace('@id@', $Row[1]).Replace('@context@', $Row[3]).Replace('@output@', $Row[4])
}

# Fills everything in but the key.
function Expand-Text([string]$Text, $Models, $Chosen, [string]$Small) {
  $begin = $Text.IndexOf('@each{')
  if ($begin -ge 0) {
    $end = $Text.IndexOf('}each@')
    $part = $Text.Substring($begin + 6, $end - $begin - 6)
    $all = @($Models | ForEach-Object { Expand-Model $part $_ }) -join ','
    $Text = $Text.Substring(0, $begin) + $all + $Text.Substring($end + 6)
  }
  return (Expand-Model $Text $Chosen).Replace('@base@', $BaseUrl).Replace('@model@', $Chosen[1]).Replace('@small@', $Small)
}

function Get-Settings([string]$Tool, [string]$Speaks, [string]$Number, $Models, $Chosen, [string]$Small) {
  foreach ($row in @(Get-Rows 'set' $Tool)) {
    if ($row[2] -ne $Speaks -or $row[3] -ne $Number) { continue }
    if ($row[4] -eq 'each') {
      foreach ($one in $Models) {
        $path = $row[5].Replace('@id@', $one[1].Replace('/', '~1'))
        [pscustomobject]@{ Kind = 'set'; Path = $path; Value = (Expand-Text (Expand-Model $row[6] $one) $Models $one $Small) }
      }
    } else {
      [pscustomobject]@{ Kind = $row[4]; Path = (Expand-Text $row[5] $Models $Chosen $Small); Value = (Expand-Text $row[6] $Models $Chosen $Small) }
    }
  }
}

function Set-Tool([string]$Choice, [string]$Key, $Usable) {
  $words = @($Choice -split ':', 3) + @('', '')
  $tool = $words[0]
  $row = @(Get-Rows 'tool' $tool)
  if ($row.Count -eq 0) { throw "This program knows no tool `"$tool`". -List lists them." }
  $interfaces = @(Get-Words $row[0][3])
  $speaks = $words[1]
  if ($speaks -ne '' -and $interfaces -notcontains $speaks) { throw "$($row[0][2]) has no $speaks interface; it has: $($interfaces -join ', ')." }
  if ($speaks -eq '' -and $interfaces -contains $Interface) { $speaks = $Interface }
  if ($speaks -eq '') { $speaks = $interfaces[0] }
  $models = @(Get-Models $speaks $Usable)
  $wanted = $words[2]
  if ($wanted -eq '') { $wanted = $Model }
  if ($wanted -eq '' -and $models.Count -gt 0) { $wanted = $models[0][1] }
  $chosen = @($models | Where-Object { $_[1] -eq $wanted })
  if ($chosen.Count -eq 0) {
    Write-Warning "$($row[0][2]): there is no model `"$wanted`" for this key on the $speaks interface. It is left as it is."
    $script:Failures++
    return
  }
  $small = @($models | Where-Object { $_[5] -eq 'small' } | ForEach-Object { $_[1] }) + @($wanted)
  Write-Host "$($row[0][2]): $speaks interface, model $wanted"
  foreach ($file in @(Get-Rows 'file' $tool)) {
    if ($file[2] -ne $speaks) { continue }
    $settings = @(Get-Settings $tool $speaks $file[3] $models $chosen[0] $small[0])
    Set-SettingsFile $file $settings $Key
  }
  foreach ($say in @(Get-Rows 'say' $tool)) { Write-Host "  $($say[3].Replace('.sh', '.ps1'))" }
}

function Get-SettingsPath($File) {
  $folder = Join-Path $HOME $File[6]
  if ($File[5] -ne '-') {
    $moved = [Environment]::GetEnvironmentVariable($File[5])
    if ($moved -and [IO.Path]::IsPathRooted($moved)) { $folder = $moved }
  }
  $path = ''
  foreach ($name in @(Get-Words $File[7])) {
    $path = [IO.Path]::GetFullPath((Join-Path $folder $name))
    if (Test-Path -LiteralPath $path) { break }
  }
  if ($File[4] -eq 'env') { $path = $path -replace '\.sh$', '.ps1' }
  return $path
}

function Set-SettingsFile($File, $Settings, [string]$Key) {
  $path = Get-SettingsPath $File
  $format = $File[4]
  $by_hand = @($Settings | ForEach-Object { Format-Setting $format $_ '<your key>' })
  if ($DryRun) {
    Write-Host "  would write ${path}:"
    $by_hand | ForEach-Object { Write-Host "      $_" }
    return
  }
  $old = $null
  try {
    if (Test-Path -LiteralPath $path) { $old = [IO.File]::ReadAllText($path) }
    if ($null -ne $old -and (Get-Item -LiteralPath $path -Force).IsReadOnly) { throw 'It is read-only.' }
    if ($format -eq 'json' -or $format -eq 'jsonc') { $new = Edit-Json $old $Settings $Key }
    else { $new = Edit-Lines $old $format $Settings $Key }
    if ($new -eq $old) {
      Write-Host "  $path says so already."
      return
    }
    Save-Before $path $old
    New-Item -ItemType Directory -Force -Path (Split-Path -Parent $path) | Out-Null
    [IO.File]::WriteAllText($path, $new, $Utf8)
    Protect-File $path
    Save-Written $path
    Write-Host "  wrote $path"
  } catch {
    $script:Failures++
    Write-Warning "$path is left as it is: $($_.Exception.Message) Put this there by hand:"
    $by_hand | ForEach-Object { Write-Host "      $_" }
  }
}

function Format-Setting([string]$Format, $Setting, [string]$Key) {
  $value = $Setting.Value.Replace('@key@', $Key).Replace('\n', "`n")
  if ($Format -eq 'json' -or $Format -eq 'jsonc') { return "$($Setting.Path -replace '/', ' > ') = $value" }
  if ($Format -ne 'env') { return $value }
  if ($value -match '^unset (\w+)$') { return "Remove-Item Env:$($Matches[1]) -ErrorAction SilentlyContinue" }
  if ($value -match '^export (\w+)=(.*)$') { return "`$env:$($Matches[1]) = '$($Matches[2])'" }
  return $value
}

# A new text, or the same where it says so already.
function Edit-Lines([string]$Old, [string]$Format, $Settings, [string]$Key) {
  $parts = @()
  foreach ($setting in $Settings) {
    $text = Format-Setting $Format $setting $Key
    if ($Format -eq 'toml' -and $setting.Path.StartsWith('[')) { $text = "`n$text" }
    if ($Format -eq 'yaml' -and $setting.Path -match '^(\w+)\[name=') {
      $text = "$($Matches[1]):`n" + (@($text -split "`n" | ForEach-Object { "  $_" }) -join "`n")
    }
    $parts += $text
  }
  $new = ($parts -join "`n") + "`n"
  if ([string]::IsNullOrEmpty($Old) -or $Old -eq $new) { return $new }
  if ($Format -eq 'env') { return $new }
  throw 'This program does not change a file of this form that has something in it.'
}

function Edit-Json([string]$Old, $Settings, [string]$Key) {
  $root = New-Object PSObject
  if (-not [string]::IsNullOrWhiteSpace($Old)) {
    # Newer versions of PowerShell read times as times, and write them in another form.
    if ($PSVersionTable.PSVersion.Major -gt 5 -and $Old -match '"\d{4}-\d\d-\d\dT') { throw 'It has times in it, which this version of PowerShell would change.' }
    if ($Old -match '(?m)^\s*//|/\*|,\s*[}\]]') { throw 'It has comments or trailing commas in it, which would be lost.' }
    try { $root = ConvertFrom-Json $Old } catch { throw 'It is not valid JSON.' }
    if ($root -isnot [PSCustomObject]) { throw 'It is not a JSON object.' }
  }
  $before = ConvertTo-Json $root -Depth 100 -Compress
  foreach ($setting in $Settings) {
    $names = @($setting.Path -split '/' | ForEach-Object { $_.Replace('~1', '/') })
    $value = ConvertFrom-Json ('{"value":' + $setting.Value.Replace('@key@', $Key) + '}')
    Set-Value $root $names $value.value $setting.Kind
  }
  if ((ConvertTo-Json $root -Depth 100 -Compress) -eq $before -and -not [string]::IsNullOrWhiteSpace($Old)) { return $Old }
  return (ConvertTo-Json $root -Depth 100) + "`n"
}

function Set-Value($Parent, [string[]]$Names, $Value, [string]$Kind) {
  $name = $Names[0]
  $property = $Parent.PSObject.Properties[$name]
  if ($Names.Count -eq 1) {
    if ($property -and $Kind -ne 'set') { return }
    if ($property) { $property.Value = $Value } else { Add-Member -InputObject $Parent -NotePropertyName $name -NotePropertyValue $Value }
    return
  }
  if ($Names[1] -match '^\[(\w+)=(.*)\]$') {
    $field = $Matches[1]
    $wanted = $Matches[2]
    $list = @()
    if ($property) { $list = @($property.Value | Where-Object { -not ($_.PSObject.Properties[$field] -and $_.$field -eq $wanted) }) }
    $list = @($list) + @($Value)
    if ($property) { $property.Value = $list } else { Add-Member -InputObject $Parent -NotePropertyName $name -NotePropertyValue $list }
    return
  }
  if (-not $property) {
    Add-Member -InputObject $Parent -NotePropertyName $name -NotePropertyValue (New-Object PSObject)
    $property = $Parent.PSObject.Properties[$name]
  }
  if ($property.Value -isnot [PSCustomObject]) { throw "`"$name`" is not an object, as this tool's settings need it to be." }
  Set-Value $property.Value @($Names[1..($Names.Count - 1)]) $Value $Kind
}

# Only its owner may read a file with the key.
function Protect-File([string]$Path) {
  if ([Environment]::OSVersion.Platform -eq 'Win32NT') {
    & icacls $Path /inheritance:r /grant:r "$([Environment]::UserDomainName)\$([Environment]::UserName):(F)" | Out-Null
  } else { & chmod 600 $Path }
}

# The record of what was changed: one JSON file, and a copy of each file as it was.
function Get-Record {
  $file = Join-Path $State 'manifest.json'
  if (-not (Test-Path -LiteralPath $file)) { return @() }
  return @((ConvertFrom-Json ([IO.File]::ReadAllText($file))).files)
}

function Set-Record($Files) {
  New-Item -ItemType Directory -Force -Path $State | Out-Null
  $text = ConvertTo-Json @{ files = @($Files) } -Depth 5
  [IO.File]::WriteAllText((Join-Path $State 'manifest.json'), $text, $Utf8)
}

function Save-Before([string]$Path, $Old) {
  $record = @(Get-Record)
  if (@($record | Where-Object { $_.path -eq $Path }).Count -gt 0) { return }
  $copy = ''
  if ($null -ne $Old) {
    New-Item -ItemType Directory -Force -Path $State | Out-Null
    $copy = Join-Path $State "$($record.Count + 1).before"
    Copy-Item -LiteralPath $Path -Destination $copy
    Protect-File $copy
  }
  Set-Record ($record + @([pscustomobject]@{ path = $Path; copy = $copy; hash = '' }))
}

function Save-Written([string]$Path) {
  $record = @(Get-Record)
  foreach ($entry in $record) { if ($entry.path -eq $Path) { $entry.hash = (Get-FileHash -LiteralPath $Path).Hash } }
  Set-Record $record
}

function Undo-Files {
  $record = @(Get-Record)
  if ($record.Count -eq 0) { Write-Host "There is nothing to undo: $State has no record."; return }
  $kept = @()
  foreach ($entry in $record) {
    if (-not (Test-Path -LiteralPath $entry.path)) { Write-Host "  $($entry.path) is gone already."; continue }
    if ($DryRun) { Write-Host "  would put back $($entry.path)"; $kept += $entry; continue }
    if ((Get-FileHash -LiteralPath $entry.path).Hash -ne $entry.hash) {
      Write-Warning "$($entry.path) was changed since, and is left as it is. Take the gateway's settings out of it by hand. As it was before: $($entry.copy)"
      $script:Failures++
      $kept += $entry
      continue
    }
    if ($entry.copy -eq '') { Remove-Item -LiteralPath $entry.path -Force; Write-Host "  removed $($entry.path)" }
    else { Copy-Item -LiteralPath $entry.copy -Destination $entry.path -Force; Write-Host "  put back $($entry.path)" }
  }
  if ($DryRun) { return }
  if ($kept.Count -gt 0) { Set-Record $kept } else { Remove-Item -LiteralPath $State -Recurse -Force }
}

function Show-Variables($Chosen) {
  foreach ($choice in $Chosen) {
    foreach ($row in @(Get-Rows 'clear' ($choice -split ':')[0])) {
      if ([Environment]::GetEnvironmentVariable($row[2])) {
        Write-Warning "The variable $($row[2]) is set, and may override the setup. Clear it: Remove-Item Env:$($row[2])"
      }
      if ([Environment]::GetEnvironmentVariable($row[2], 'User')) {
        Write-Warning "It is set for your user, too: [Environment]::SetEnvironmentVariable('$($row[2])', `$null, 'User')"
      }
    }
  }
}

function Install-Tools {
  Write-Host "Model Gateway at $BaseUrl"
  $chosen = @(Select-Tools)
  if ($chosen.Count -eq 0) { Write-Host 'No tool was chosen: nothing is changed.'; return }
  $key = ''
  $usable = $null
  if (-not $DryRun) {
    $key = Read-Key
    $usable = @(Test-Key $key)
  }
  foreach ($choice in $chosen) { Set-Tool $choice $key $usable }
  Show-Variables $chosen
  if ($DryRun) { Write-Host 'This was a dry run: nothing is changed.' }
}

if ($Help) { Show-Help }
elseif ($List) { foreach ($row in @(Get-Rows 'tool')) { Write-Output ('{0,-14} {1}' -f $row[1], $row[2]) } }
elseif ($Uninstall) { Undo-Files }
else { Install-Tools }
if ($script:Failures -gt 0) {
  Write-Warning "$($script:Failures) file(s) could not be written: what to do by hand is said above."
  exit 1
}
